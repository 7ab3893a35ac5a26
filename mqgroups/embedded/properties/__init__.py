"""Message properties as values: names, types, sets of them, MQRFH2 folders, and which of them a delivery shows how."""
