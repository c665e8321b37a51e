// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// verb is a request to the operator about objects of one kind.
type verb struct {
	// announce returns what the request will do. The error says why it would do nothing.
	announce func(object client.Object, token common.Token) (string, error)
	// verdict returns the result of a request, as far as the status of the object shows it. before is the object when the
	// request was made.
	verdict func(before, now client.Object, token common.Token) Verdict
	// token returns the token that the status of the object asks for; nil where any new one will do.
	token func(object client.Object) common.Token
	// right is a verb that the user needs on the object beside patch; empty for none.
	right string
}

// Verdict is the result of a request.
type Verdict struct {
	// Done is that nothing more is to come, and Failed that the result is another than was requested.
	Done, Failed bool
	// Text is how far it has come.
	Text string
}

// verbs are by their names and the kinds of their objects.
var verbs = map[string]map[string]verb{
	inspect.VerbRestart: {inspect.RebootPolicy: of(announceRestart, restarted)},
	inspect.VerbRetry: {
		inspect.RebootPolicy: of(announceRetry, retried),
		inspect.ChaosPod:     of(announceRetry, retried),
	},
	inspect.VerbApprove:  {inspect.RebootPolicy: approval()},
	inspect.VerbRun:      {inspect.ChaosPod: of(announceRun, ran)},
	inspect.VerbFailback: {inspect.ExternalService: of(announceFailback, failedBack)},
	inspect.VerbFault:    {inspect.ExternalService: of(announceFault, faulted)},
}

// of returns a verb of the objects of one type.
func of[T client.Object](announce func(T, common.Token) (string, error), verdict func(before, now T, token common.Token) Verdict) verb {
	return verb{
		announce: func(object client.Object, token common.Token) (string, error) {
			typed, is := object.(T)
			if !is {
				return "", fmt.Errorf("%T is of another kind", object)
			}
			return announce(typed, token)
		},
		verdict: func(before, now client.Object, token common.Token) Verdict {
			typedBefore, was := before.(T)
			typedNow, is := now.(T)
			if !was || !is {
				return Verdict{true, true, fmt.Sprintf("%T is of another kind", now)}
			}
			return verdict(typedBefore, typedNow, token)
		},
	}
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
