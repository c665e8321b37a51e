// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// Forecast is the predicted effect of a change.
type Forecast struct {
	// Sources are the ConfigMaps and Secrets that change.
	Sources []Source `json:"sources"`
	// Restarts are those that policies do, in their order within a policy.
	Restarts []Restart `json:"restarts"`
	// Rollouts are the workloads whose pod template the manifests change, so that their own controllers replace their pods at once.
	Rollouts []inspect.Key `json:"rollouts,omitempty"`
	// ExpectedEnd is when the last of Restarts is expected to be verified, by how long earlier ones took. It is absent where a policy
	// has verified none yet, and where one waits for more than time.
	ExpectedEnd *metav1.Time `json:"expectedEnd,omitempty"`
	// Notes are sentences about what is not considered.
	Notes []string `json:"notes,omitempty"`
	// Unread lists the resources that could not be read. If there are any, the rest may be incomplete.
	Unread []inspect.Unread `json:"unread,omitempty"`

	// endUnknown means that a policy has no ExpectedEnd.
	endUnknown bool
	// ordered are the policies that restart workloads or not by the order in which the manifests are applied.
	ordered []string
}

// The changes of a Source.
const (
	Changed = "Changed"
	Created = "Created"
	// Assumed means that it could not be read, and counts as changed.
	Assumed = "Assumed"
)

// Source is a ConfigMap or Secret that changes.
type Source struct {
	inspect.Key
	Change string `json:"change"`
	// Keys that differ, by name.
	Keys []string `json:"keys"`
	// WatchedBy are the RebootPolicies that watch it for a workload.
	WatchedBy []string `json:"watchedBy,omitempty"`
	// Unwatched are workloads that refer to it, and that no policy restarts for it.
	Unwatched []string `json:"unwatched,omitempty"`
}

// Restart is one of a workload by a policy.
type Restart struct {
	inspect.Key
	// Policy is a RebootPolicy of the namespace, Order the place of the restart among those of the policy, from 1 on, and Wave
	// that of the target.
	Policy string `json:"policy"`
	Order  int    `json:"order"`
	Wave   int32  `json:"wave"`
	// MaxTargets is how many restarts of the policy may be in flight at once.
	MaxTargets string  `json:"maxTargets"`
	Causes     []Cause `json:"causes"`
	// Starts is the earliest time, as far as it is a matter of time; Window is open then. It is absent where something else holds.
	Starts *metav1.Time `json:"starts,omitempty"`
	Window string       `json:"window,omitempty"`
	// Holds are all reasons for which it does not start at once.
	Holds []Hold `json:"holds,omitempty"`
}

// Cause is a trigger, and the source that it watches.
type Cause struct {
	Trigger string `json:"trigger"`
	Type    string `json:"type"`
	// Source is such as Secret/db-login, and Keys the names of those that count and differ.
	Source string   `json:"source"`
	Keys   []string `json:"keys"`
}

// Hold is a reason for which a restart does not start.
type Hold struct {
	Reason  string       `json:"reason"`
	Message string       `json:"message"`
	Until   *metav1.Time `json:"until,omitempty"`
	Remedy  string       `json:"remedy,omitempty"`
}

// Options of a Forecast.
type Options struct {
	// Reader reads with the rights of the user.
	Reader client.Reader
	// OperatorNamespace has the ConfigMap with the blackouts of the cluster.
	OperatorNamespace string
	Now               time.Time
}

// OfSource returns what happens if a ConfigMap or Secret changes in keys; in all of them for none. The error is that the API
// server does not answer, or a sentence about the arguments.
func OfSource(ctx context.Context, o Options, key inspect.Key, keys []string) (*Forecast, error) {
	w := newWorld(o)
	if err := w.read(ctx, []string{key.Namespace}); err != nil {
		return nil, err
	}
	w.assume(ctx, key, keys)
	return w.foresee(ctx)
}

// OfManifests returns what happens if manifests are applied.
func OfManifests(ctx context.Context, o Options, m *Manifests) (*Forecast, error) {
	w := newWorld(o)
	w.notes, w.hasCluster = m.notes(), m.hasCluster
	if err := w.read(ctx, m.namespaces()); err != nil {
		return nil, err
	}
	w.apply(ctx, m)
	return w.foresee(ctx)
}

// add adds what a policy does.
func (f *Forecast) add(
	policy *autorebootv1.RebootPolicy, seen *rebootpolicy.Forecast, index map[inspect.Key]int, restarted map[inspect.Key]bool, now time.Time,
) {
	for _, name := range seen.Watched {
		kind, name, _ := strings.Cut(name, "/")
		at, is := index[inspect.Key{Kind: kind, Namespace: policy.Namespace, Name: name}]
		if is && !slices.Contains(f.Sources[at].WatchedBy, policy.Name) {
			f.Sources[at].WatchedBy = append(f.Sources[at].WatchedBy, policy.Name)
		}
	}
	if seen.Blocked.Reason == autorebootv1.ReasonInvalidSpec {
		f.Notes = append(f.Notes, fmt.Sprintf("RebootPolicy %s/%s restarts nothing, since its spec is invalid: %s.", policy.Namespace, policy.Name, seen.Blocked.Message))
	}
	if len(seen.First) > 0 {
		f.ordered = append(f.ordered, inspect.KeyOf(policy).String())
	}
	f.expect(policy, seen.Restarts, now)
	for i := range seen.Restarts {
		r := &seen.Restarts[i]
		out := Restart{
			Key:    inspect.Key{Kind: string(common.KindOfGroup(r.Target.Group, r.Target.Kind)), Namespace: policy.Namespace, Name: r.Target.Name},
			Policy: policy.Name, Order: i + 1, Wave: r.Wave, MaxTargets: seen.MaxTargets, Window: r.Window,
		}
		if !r.Waits && !r.Starts.IsZero() {
			starts := metav1.NewTime(r.Starts)
			out.Starts = &starts
		}
		for _, s := range r.Sources {
			out.Causes = append(out.Causes, Cause{Trigger: s.Trigger, Type: typeOf(policy, s.Trigger), Source: s.Source, Keys: s.Keys})
		}
		for _, h := range r.Holds {
			out.Holds = append(out.Holds, holdOf(&h))
		}
		restarted[out.Key] = true
		f.Restarts = append(f.Restarts, out)
	}
}

// expect takes the restarts of a policy into ExpectedEnd.
func (f *Forecast) expect(policy *autorebootv1.RebootPolicy, restarts []rebootpolicy.ForeseenRestart, now time.Time) {
	if len(restarts) == 0 {
		return
	}
	due := make([]inspect.Due, 0, len(restarts))
	for i := range restarts {
		r := &restarts[i]
		f.endUnknown = f.endUnknown || slices.ContainsFunc(r.Holds, func(h restart.Hold) bool {
			return h.Until.IsZero() && h.Reason != autorebootv1.ReasonConcurrencyLimit && h.Reason != autorebootv1.ReasonLowerWave
		})
		due = append(due, inspect.Due{
			Kind: common.KindOfGroup(r.Target.Group, r.Target.Kind), Name: r.Target.Name, Wave: r.Wave, NotBefore: r.Starts,
		})
	}
	end, is := inspect.ExpectedEnd(policy, due, now)
	f.endUnknown = f.endUnknown || !is
	if last := metav1.NewTime(end); f.ExpectedEnd == nil || f.ExpectedEnd.Before(&last) {
		f.ExpectedEnd = &last
	}
	if f.endUnknown {
		f.ExpectedEnd = nil
	}
}

func holdOf(h *restart.Hold) Hold {
	out := Hold{Reason: h.Reason, Message: h.Message, Remedy: inspect.Remedy(inspect.RebootPolicy, common.ConditionWaiting, h.Reason)}
	if !h.Until.IsZero() {
		until := metav1.NewTime(h.Until)
		out.Until = &until
	}
	return out
}

func typeOf(policy *autorebootv1.RebootPolicy, trigger string) string {
	for i := range policy.Spec.Triggers {
		if t := &policy.Spec.Triggers[i]; t.Name == trigger {
			return string(t.Type)
		}
	}
	return ""
}
