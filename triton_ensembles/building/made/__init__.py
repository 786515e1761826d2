"""The artifacts, environments and wheels of a plan, each made once and kept in a store."""
