"""What tests share: stores that are easy to put into a state."""
