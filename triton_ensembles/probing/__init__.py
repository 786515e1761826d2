"""The models of a repository in the real server: each is loaded once, and sent one request."""
