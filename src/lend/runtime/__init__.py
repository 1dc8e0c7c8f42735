"""What happens at a call: binding arguments, checking borrows, launching, faults, settings. Never imports the compiler."""
