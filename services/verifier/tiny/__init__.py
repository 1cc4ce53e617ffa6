"""Grading of the tiny domain: short expressions and numbers in a language of its own, computed exactly. Nothing is run."""
