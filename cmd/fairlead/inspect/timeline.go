// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Occurrence is a failover, a restart, a fault or a run of chaos of an object, with its cause.
type Occurrence struct {
	Key
	Finding
}

// occurrence builds its Finding only when it is printed: a large cluster has some hundred thousand occurrences.
type occurrence struct {
	of      *Object
	at      time.Time
	finding func() Finding
}

// Timeline returns at most limit of what happened to objects that match, from the latest on, without the first of them; and how
// many there are. What is under way comes first. It goes as far back as the histories of the objects.
func (g *Graph) Timeline(match func(*Object) bool, first, limit int) (found []Occurrence, total int) {
	e := &explainer{g, map[Key]bool{}}
	var all []occurrence
	for _, o := range g.Objects {
		if o.Source != nil && match(o) {
			all = e.occurrences(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return b.at.Compare(a.at) })
	for i := first; i < min(first+limit, len(all)); i++ {
		found = append(found, Occurrence{all[i].of.Key, all[i].finding()})
	}
	return found, len(all)
}

// occurrences adds those of an object.
func (e *explainer) occurrences(all []occurrence, o *Object) []occurrence {
	add := func(at *metav1.Time, finding func() Finding) {
		if at != nil {
			all = append(all, occurrence{o, at.Time, finding})
		}
	}
	ended := func(r *common.Record, finding func() Finding) {
		at := r.CompletionTime
		if at == nil {
			at = r.StartTime
		}
		add(at, func() Finding {
			f := finding()
			f.Since = at
			return f
		})
	}
	switch source := o.Source.(type) {
	case *networkingv1.ExternalService:
		for i := range source.Status.History {
			r := &source.Status.History[i]
			ended(&r.Record, func() Finding { return e.last(o, strings.ToLower(r.Type), &r.Record) })
		}
	case *autorebootv1.RebootPolicy:
		for i := range source.Status.InFlight {
			one := source.Status.InFlight[i : i+1]
			add(one[0].StartTime, func() Finding { return e.inFlight(o, one)[0] })
		}
		for i := range source.Status.History {
			r := &source.Status.History[i]
			ended(&r.Record, func() Finding {
				f := e.restarted(o, r)
				f.About = strings.TrimPrefix(f.About, "last ")
				return f
			})
		}
	case *chaosv1.ChaosPod:
		if run := source.Status.CurrentRun; run != nil {
			add(run.StartTime, func() Finding { return currentRun(source) })
		}
		for i := range source.Status.History {
			r := &source.Status.History[i]
			ended(&r.Record, func() Finding { return e.last(o, "run "+r.ID, &r.Record) })
		}
	}
	return all
}
