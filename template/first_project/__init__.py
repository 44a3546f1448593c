"""Refunds: decided by a planner, approved by a manager."""
