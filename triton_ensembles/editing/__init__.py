"""The questions of an editor about a repository while its files are typed: the language server, over the checker."""
