"""The only place that touches the network."""
