"""Adapters of agent frameworks over the public API.

Each adapter is a module that imports its framework, so this package imports no adapter: only
``import commonplace.adapters.langgraph`` needs LangGraph.
"""
