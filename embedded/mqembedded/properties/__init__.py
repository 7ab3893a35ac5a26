"""Message properties as values: names, types, sets of them, MQRFH2 folders, and the form in which MQGET returns them."""
