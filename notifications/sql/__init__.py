"""The statements that carry the promises: accept, claim, begin, record, apply, settle. Every race is closed here.

Lock order everywhere: notifications, outbox entries, messages, each sorted by id. READ COMMITTED; the database's clock.
"""
