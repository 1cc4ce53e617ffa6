"""Starts the Learner: python -m services.learner --bus ADDRESS."""

from __future__ import annotations

from services.learner.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.LEARNER, build)
