"""Starts inference: python -m services.inference --bus ADDRESS."""

from __future__ import annotations

from services.inference.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.INFERENCE, build)
