// This is the command fairlead, which can keep sweeps in buckets of S3, too: fairlead sweep --dir s3://BUCKET/FOLDER.
package main

import (
	"os"

	"fairlead.dev/fairlead/buckets"
	"fairlead.dev/fairlead/cli"
)

func main() { os.Exit(cli.MainWith(cli.Stores{"s3": buckets.Open})) }
