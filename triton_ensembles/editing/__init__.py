"""What an editor asks about a repository while its files are typed: the language server, over the checker."""
