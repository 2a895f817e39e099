"""Masking: what must not be written is replaced at the door, kept in a vault, and put back for a tool alone."""

from redrive_engine.masking.blocks import masked_content, masked_text, opened_arguments, opened_messages
from redrive_engine.masking.classes import CLASSES
from redrive_engine.masking.concealing import Concealer
from redrive_engine.masking.door import OPEN, Door, SealedValueLost
from redrive_engine.masking.mask import Mask
from redrive_engine.masking.masked import masked_event, says_something
from redrive_engine.masking.placeholder import is_masked, placeholders
from redrive_engine.masking.vault import FileVault, MemoryVault, Vault

__all__ = [
    "CLASSES",
    "OPEN",
    "Concealer",
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
    "opened_arguments",
    "opened_messages",
    "placeholders",
    "says_something",
]
