cluster list
