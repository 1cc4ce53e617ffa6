"""Starts the Critic: python -m services.critic --bus ADDRESS."""

from __future__ import annotations

from services.critic.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.CRITIC, build)
