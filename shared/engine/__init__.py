"""The engine port: how roles ask the model for text."""
