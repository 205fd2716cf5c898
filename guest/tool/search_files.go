package tool

import (
	"regexp"
	"runtime"
)

// sideBySide is how many files are searched at a time: more than there are processors, because most of the time is
// spent waiting for files to be opened.
const sideBySide = 8

// aheadFiles is how many files may be searched, or wait for their turn to be told, behind the one that is told now.
const aheadFiles = 64

// foundIn is what one file holds.
type foundIn struct {
	file    entry
	result  searched
	matches []lineMatch
}

// searchFiles searches files side by side and tells of them in the order in which they are walked: opening a file
// costs far more than reading it where system calls are dear. No more than most lines are found in any file. An error
// of tell ends it, errEnough without being one.
func searchFiles(
	wanted *regexp.Regexp,
	most int,
	walk func(visit func(entry) error) error,
	tell func(foundIn) error,
) error {
	ended := make(chan struct{})
	waiting := make(chan func(*searcher))
	inOrder := make(chan chan foundIn, aheadFiles)
	// Otherwise those that wait in system calls would hold up the others.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), sideBySide))
	for range sideBySide {
		go func() {
			search := newSearcher(wanted)
			for work := range waiting {
				work(search)
			}
		}()
	}
	walked := make(chan error, 1)
	go func() {
		defer close(inOrder)
		defer close(waiting)
		walked <- walk(func(file entry) error {
			place := make(chan foundIn, 1)
			select {
			case inOrder <- place:
			case <-ended:
				return errEnough
			}
			waiting <- func(search *searcher) { place <- search.atMost(most, file) }
			return nil
		})
	}()
	for place := range inOrder {
		if err := tell(<-place); err != nil {
			close(ended)
			return enough(err)
		}
	}
	return <-walked
}

// atMost searches one file for so many lines.
func (s *searcher) atMost(most int, file entry) foundIn {
	found := foundIn{file: file}
	// What it fails with is that there are enough.
	found.result, _ = s.search(file.file, func(match lineMatch) error {
		found.matches = append(found.matches, match)
		if len(found.matches) == most {
			return errEnough
		}
		return nil
	})
	return found
}
