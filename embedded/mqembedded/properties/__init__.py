"""Message properties: names, types, sets of properties, MQRFH2 folders, and the form in which MQGET returns them."""
