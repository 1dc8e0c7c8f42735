lib: object
