"""Starts the Verifier: python -m services.verifier --bus ADDRESS."""

from __future__ import annotations

from services.verifier.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.VERIFIER, build)
