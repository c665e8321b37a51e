// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// verb is what can be requested of objects of one kind.
type verb struct {
	// announce returns what the request will do. The error says why it would do nothing.
	announce func(object client.Object, token common.Token) (string, error)
	// verdict returns what has become of a request, as far as the status of the object tells; before is the object as it was
	// when it was requested.
	verdict func(before, now client.Object, token common.Token) Verdict
}

// Verdict is what has become of a request.
type Verdict struct {
	// Done is that nothing more is to come, and Failed that the result is another than was requested.
	Done, Failed bool
	// Text is how far it has come.
	Text string
}

// verbs are by their names and the kinds of their objects.
var verbs = map[string]map[string]verb{
	inspect.VerbRestart: {inspect.RebootPolicy: {announceRestart, restarted}},
	inspect.VerbResume: {
		inspect.RebootPolicy: {announceResume, resumed},
		inspect.ChaosPod:     {announceResume, resumed},
	},
	inspect.VerbRun:      {inspect.ChaosPod: {announceRun, ran}},
	inspect.VerbFailback: {inspect.ExternalService: {announceFailback, failedBack}},
	inspect.VerbFault:    {inspect.ExternalService: {announceFault, faulted}},
}

// Kinds are the arguments that a verb takes.
func Kinds(name string) (arguments []string) {
	for _, kind := range []string{inspect.ExternalService, inspect.RebootPolicy, inspect.ChaosPod} {
		if _, has := verbs[name][kind]; has {
			arguments = append(arguments, strings.ToLower(kind)+"/NAME")
		}
	}
	return arguments
}

// recordText is how something ended, why, and what the reason leaves open.
func recordText(r *common.Record) string {
	text := r.Result
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}
