package proc

// Count is how many processes the sandbox has, whoever started them: neither the agent nor its bridges.
func Count() (int, error) {
	there, err := population()
	return len(there), err
}
