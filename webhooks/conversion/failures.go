// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// FailureRecorder creates Events about objects that could not be converted.
type FailureRecorder struct {
	kinds  []schema.GroupVersionKind
	record func(events.Event)
}

// NewFailureRecorder returns a recorder for these kinds at any version; it ignores other kinds, which a sender may
// write into a review. record must not block.
func NewFailureRecorder(kinds []schema.GroupVersionKind, record func(events.Event)) *FailureRecorder {
	return &FailureRecorder{kinds: kinds, record: record}
}

// Record writes an Event about a failure, as Options.Failed requires.
func (r *FailureRecorder) Record(f Failure) {
	version, err := schema.ParseGroupVersion(f.APIVersion)
	if err != nil || !slices.ContainsFunc(r.kinds, func(known schema.GroupVersionKind) bool {
		return known.Group == version.Group && known.Kind == f.Kind
	}) {
		return
	}
	r.record(events.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name, UID: types.UID(f.UID),
		},
		Reason: common.EventConversionFailed, Action: "Convert",
		Note: fmt.Sprintf("This object cannot be converted to %s, so that every list at that version fails. `%s` names what to fix; so does the operator's log.",
			f.Desired, tolerantcache.Remedy),
	})
}
