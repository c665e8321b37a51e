// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// PolicyOf returns the RebootPolicy that restarts a workload and no other one. Where there is none the error is a Refusal, which
// names what to run instead. The program is how the user calls this one.
func PolicyOf(ctx context.Context, from client.Reader, workload inspect.Key, program string) (inspect.Key, error) {
	read, err := inspect.ReadOf(ctx, from, workload.Namespace, inspect.RebootPolicy)
	if err != nil {
		return inspect.Key{}, err
	}
	if len(read.Unread) > 0 {
		return inspect.Key{}, fmt.Errorf("%s: %s", workload, read.Unread[0])
	}
	isOne := func(t v1.TargetStatus) bool { return string(t.Kind) == workload.Kind && t.Name == workload.Name }
	var policies []*v1.RebootPolicy
	for _, object := range read.Objects {
		if policy, is := object.(*v1.RebootPolicy); is && slices.ContainsFunc(policy.Status.Targets, isOne) {
			policies = append(policies, policy)
		}
	}
	alone := "`kubectl rollout restart " + workload.Argument() + " -n " + workload.Namespace + "`"
	if workload.Kind == inspect.Rollout {
		alone = "`kubectl argo rollouts restart " + workload.Name + " -n " + workload.Namespace + "`"
	}
	if len(policies) == 0 {
		return inspect.Key{}, Refusal(fmt.Sprintf("%s: no RebootPolicy restarts it: create one, or run %s", workload, alone))
	}
	policy := policies[0]
	if len(policies) == 1 && len(policy.Status.Targets) == 1 {
		return inspect.KeyOf(policy), nil
	}
	var commands, others []string
	for _, p := range policies {
		commands = append(commands, fmt.Sprintf("`%s restart %s -n %s`", program, inspect.KeyOf(p).Argument(), p.Namespace))
		for i := range p.Status.Targets {
			if t := &p.Status.Targets[i]; !isOne(*t) {
				others = append(others, string(t.Kind)+" "+t.Name)
			}
		}
	}
	run := strings.Join(commands, " or ")
	if len(others) == 0 {
		return inspect.Key{}, Refusal(fmt.Sprintf("%s: more than one RebootPolicy restarts it: run %s", workload, run))
	}
	return inspect.Key{}, Refusal(fmt.Sprintf("%s: its RebootPolicy also restarts %s: run %s to restart all of them, or %s to restart this one without gates and verification",
		workload, events.Summarize(others), run, alone))
}
