package proc

import "errors"

// What can go wrong, for callers to tell apart with errors.Is; the text around them says the details.
var (
	ErrNoProcess       = errors.New("no such process")
	ErrProgramNotFound = errors.New("program not found")
	ErrNotExecutable   = errors.New("program is not executable")
	ErrBadDirectory    = errors.New("bad working directory")
	ErrBadArgument     = errors.New("bad argument")
	ErrTagTaken        = errors.New("tag is in use")
	ErrStopping        = errors.New("the sandbox is being stopped")
	ErrEmptying        = errors.New("everything in the sandbox is being ended")
	ErrNoResources     = errors.New("not enough resources")
	ErrNoStdin         = errors.New("standard input is not open")
	ErrNoTerminal      = errors.New("the command has no terminal")
	ErrNotPermitted    = errors.New("not permitted")
)
