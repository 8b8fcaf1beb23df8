"""Our callers' way in over HTTP: translate, one service call, translate back."""
