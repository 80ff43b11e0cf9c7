"""The link to a board: the only part of the package that opens a port. `idmkit.link.client.Board` is its door."""
