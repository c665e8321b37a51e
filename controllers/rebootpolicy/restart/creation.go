// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

const (
	// newFor is how long after its creation a workload is new where it is first seen. An older one is selected late: no reader of
	// its sources knows what they had when its pods were created.
	newFor = time.Hour
	// madeWithin is the most by which a workload may be older than a policy that a ClusterRebootPolicy created for it.
	madeWithin = time.Minute
)

// IsDatedByCreation reports whether a workload that a policy sees first is owed the changes since its creation. This holds if
// the policy existed when the workload was created. For other workloads, the content at the first look is the baseline.
func IsDatedByCreation(p *autorebootv1.RebootPolicy, created, now time.Time) bool {
	since := p.CreationTimestamp.Time
	if rules.ClusterPolicyOf(p) != "" {
		since = since.Add(-madeWithin)
	}
	return !created.Before(since) && created.After(now.Add(-newFor))
}

// atCreation returns the baseline of a source as it was when the pods of a new workload were created, if it is known to have changed
// since. The source is first seen here, or could not be read before.
func (r *run) atCreation(t *target, s *Signal) *autorebootv1.Baseline {
	unread := func(known autorebootv1.TriggerStatus) bool { return known.State == autorebootv1.TriggerUnknown }
	first := t.isNew || slices.ContainsFunc(r.policy.Status.Triggers, unread)
	written := s.valuesTime()
	if !first || !IsDatedByCreation(r.policy, t.workload.Created, r.now) || t.workload.Unselected || s.Ignored ||
		s.Fingerprint == "" || s.Created.IsZero() || written.IsZero() {
		return nil
	}
	older := slices.IndexFunc(t.workload.Pods, func(p Pod) bool { return !p.Terminating && p.isOlderThan(s, written) })
	if older < 0 {
		return nil
	}
	was := baselineOf(s)
	was.WrittenTime = nil
	if was.Fingerprint = FormerFingerprint(s.fingerprint()); t.workload.Pods[older].Created.Before(s.Created) && !written.After(s.Created) {
		was.Fingerprint = "" // it was created after the pod, and not changed since
	}
	return &was
}

// FormerFingerprint returns a fingerprint of the same keys with other content, so that it always differs from the given one.
func FormerFingerprint(fingerprint string) string {
	scope, _, _ := strings.Cut(fingerprint, "/")
	return scope + "/former"
}

// valuesTime returns when the values that are there were written, or later; zero where nothing says so.
func (s *Signal) valuesTime() time.Time {
	if s.FirstSeen {
		return s.ValuesWritten
	}
	return s.Written
}

// isOlderThan reports whether a pod is known to have been created before the content of a source was written. Within one second
// resourceVersions say so, as in createdAfter. Where they do not, the pod is one of an installation, which comes after its
// configuration.
func (p *Pod) isOlderThan(s *Signal, written time.Time) bool {
	written = written.UTC().Truncate(time.Second)
	if !s.Since.IsZero() && p.Created.After(s.Since) {
		return false // only metadata was written since
	}
	if !p.Created.Equal(written) || s.Version == "" {
		return p.Created.Before(written)
	}
	if p.Version != "" {
		order, err := resourceversion.CompareResourceVersion(p.Version, s.Version)
		return err == nil && order < 0
	}
	order, err := resourceversion.CompareResourceVersion(p.PresentAt, s.Version)
	return err == nil && order <= 0
}
