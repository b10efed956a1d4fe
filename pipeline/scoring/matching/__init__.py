"""Calls against expected calls: by key in masks and rounds, by search where keys do not decide."""
