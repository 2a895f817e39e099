"""Masking: what must not be written is replaced at the door, kept in a vault, and put back for a tool alone."""

from redrive_engine.masking.blocks import masked_content, masked_text, opened_messages
from redrive_engine.masking.classes import CLASSES
from redrive_engine.masking.door import Door, SealedValueLost
from redrive_engine.masking.mask import Mask
from redrive_engine.masking.masked import masked_event
from redrive_engine.masking.placeholder import PLACEHOLDER, is_masked
from redrive_engine.masking.vault import FileVault, MemoryVault, Vault

__all__ = [
    "CLASSES",
    "PLACEHOLDER",
    "Door",
    "FileVault",
    "Mask",
    "MemoryVault",
    "SealedValueLost",
    "Vault",
    "is_masked",
    "masked_content",
    "masked_event",
    "masked_text",
    "opened_messages",
]
