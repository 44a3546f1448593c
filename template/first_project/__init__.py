"""Refunds that a planner decides on, and a manager approves."""
