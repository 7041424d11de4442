package schedtest

import "github.com/cockroachdb/datadriven"

// run gives a story one command.
func run(s *story, command, input string) (string, error) {
	name, list, err := datadriven.ParseLine(command)
	if err != nil {
		return "", err
	}
	return s.command(&datadriven.TestData{Cmd: name, CmdArgs: list, Input: input})
}
