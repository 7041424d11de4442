// Package schedtest tests schedulers. RunScenarios plays stories written as text
// (its comment is the manual of the language); Conformance puts any policy
// into a hostile world and watches from outside that no promise is broken.
package schedtest
