"""Any repository, archive or ensemble, laid out for the server and watched while it runs."""
