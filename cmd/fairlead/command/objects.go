// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import "strings"

// withSlash returns arguments whose first is TYPE/NAME also where the user gave TYPE NAME, as kubectl takes both.
func withSlash(args []string) []string {
	if len(args) < 2 || strings.Contains(args[0], "/") {
		return args
	}
	return append([]string{args[0] + "/" + args[1]}, args[2:]...)
}

// eachWithSlash is withSlash for any number of names after one TYPE.
func eachWithSlash(args []string) []string {
	if len(args) < 2 || strings.Contains(args[0], "/") {
		return args
	}
	var all []string
	for _, name := range args[1:] {
		all = append(all, args[0]+"/"+name)
	}
	return all
}
