// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package secretsstore

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// GroupVersion is the version at which the statuses are read.
var GroupVersion = schema.GroupVersion{Group: "secrets-store.csi.x-k8s.io", Version: "v1"}

const (
	// Driver is the name of the CSI driver.
	Driver = "secrets-store.csi.k8s.io"
	// ClassAttribute is the attribute of its volumes that names the class.
	ClassAttribute = "secretProviderClass"
	// Kind of the statuses.
	Kind = "SecretProviderClassPodStatus"
	// Resource of the statuses.
	Resource = "secretproviderclasspodstatuses"
)

// maxBytes is how long the ids and versions of one status may be together. Of longer ones only a digest is held: a user who may
// write a status must not fill the memory of the operator.
const maxBytes = 64 << 10

// AddToScheme adds the statuses to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &SecretProviderClassPodStatus{}, &SecretProviderClassPodStatusList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// SecretProviderClassPodStatus holds the fields of a status that Fairlead reads. Its metadata is reduced to the fields that
// identify and order it.
type SecretProviderClassPodStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Status            Status `json:"status,omitzero"`
	// Pod has mounted the class, by its owner reference.
	Pod types.UID `json:"-"`
	// Written is when the status was written last, and not a label; zero where that is not recorded.
	Written metav1.Time `json:"-"`
}

// SecretProviderClassPodStatusList is a list of them.
type SecretProviderClassPodStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []SecretProviderClassPodStatus `json:"items"`
}

// Status lists the objects that a pod has mounted.
type Status struct {
	PodName string   `json:"podName,omitempty"`
	Class   string   `json:"secretProviderClassName,omitempty"`
	Mounted bool     `json:"mounted,omitempty"`
	Objects []Object `json:"objects,omitempty"`
}

// Object is the version of one secret.
type Object struct {
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

// UnmarshalJSON decodes as much as it can: an item that does not decode makes client-go reject the whole list. An incomplete
// status counts as not mounted.
func (s *SecretProviderClassPodStatus) UnmarshalJSON(data []byte) error {
	var read struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
		Status          json.RawMessage   `json:"status"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &read); err != nil {
		return err
	}
	meta := &read.Metadata
	*s = SecretProviderClassPodStatus{TypeMeta: read.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Generation: meta.Generation, CreationTimestamp: meta.CreationTimestamp,
	}, Written: writtenTime(meta)}
	if end, is := meta.Annotations[metav1.InitialEventsAnnotationKey]; is { // without it, an informer does not see that it has all
		s.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: end}
	}
	for i := range meta.OwnerReferences {
		if owner := &meta.OwnerReferences[i]; owner.Kind == "Pod" && owner.APIVersion == corev1.SchemeGroupVersion.String() {
			s.Pod = owner.UID
		}
	}
	if len(read.Status) > 0 && kjson.UnmarshalCaseSensitivePreserveInts(read.Status, &s.Status) != nil {
		s.Status = Status{}
	}
	s.Status.limit()
	return nil
}

// limit replaces ids and versions that are too long by one digest of all.
func (s *Status) limit() {
	size, sum := 0, sha256.New()
	for i := range s.Objects {
		for _, part := range []string{s.Objects[i].ID, s.Objects[i].Version} {
			size += len(part) + 1
			_, _ = sum.Write([]byte(part + "\x00")) // a hash never fails
		}
	}
	if size > maxBytes {
		s.Objects = []Object{{Version: string(sum.Sum(nil))}}
		return
	}
	s.Objects = slices.Clip(s.Objects)
}

// writtenTime returns when a manager last set a field of the status: one that sets labels alone is another entry.
func writtenTime(meta *metav1.ObjectMeta) (written metav1.Time) {
	for i := range meta.ManagedFields {
		e := &meta.ManagedFields[i]
		var fields struct {
			Status json.RawMessage `json:"f:status"`
		}
		if e.Time == nil || e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil || fields.Status == nil {
			continue
		}
		if written.Before(e.Time) {
			written = *e.Time
		}
	}
	return written
}

// DeepCopyObject implements runtime.Object.
func (s *SecretProviderClassPodStatus) DeepCopyObject() runtime.Object { return s.DeepCopy() }

// DeepCopy returns a copy.
func (s *SecretProviderClassPodStatus) DeepCopy() *SecretProviderClassPodStatus {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	out.Status.Objects = slices.Clone(s.Status.Objects)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *SecretProviderClassPodStatusList) DeepCopyObject() runtime.Object {
	out := SecretProviderClassPodStatusList{TypeMeta: l.TypeMeta}
	meta := l.ListMeta
	meta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return &out
}
