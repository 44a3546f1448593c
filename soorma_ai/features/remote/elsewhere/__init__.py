"""The store of an agent whose platform is in another process, by HTTP."""
