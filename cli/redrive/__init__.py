"""Record agent runs as events, rebuild them from those alone, and drive them again."""
