"""A recipe and a target become a plan: versions, configs, engines, and the form of each environment."""
