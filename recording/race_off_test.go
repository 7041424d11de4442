//go:build !race

package recording_test

// raceDetector says that the test runs under the race detector.
const raceDetector = false
