"""From ensembles/NAME to dist/TARGET/NAME.tar.gz."""
