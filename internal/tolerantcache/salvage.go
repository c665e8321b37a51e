// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// decodePartially reads what can be read of an object that does not decode as a whole, and marks it. What is
// left of the spec and the status is for those who must count on it even so, such as the ledger of
// restarts in flight; it must not be acted on.
func (d *decoder) decodePartially(raw []byte) (runtime.Object, error) {
	made, err := d.scheme.New(d.kind)
	if err != nil {
		return nil, err
	}
	object, ok := made.(metav1.Object)
	if !ok {
		return nil, errors.New(d.kind.Kind + " has no metadata")
	}
	var members map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &members); err != nil {
		return nil, err
	}
	for _, name := range []string{"metadata", "spec", "status"} {
		if value, ok := members[name]; ok {
			// What does not fit is skipped, or ends the reading of this member.
			_ = kjson.UnmarshalCaseSensitivePreserveInts(member(name).wrap(value), made)
		}
	}
	if object.GetName() == "" || object.GetResourceVersion() == "" {
		return nil, errors.New(d.kind.Kind + " without a name or a resourceVersion")
	}
	made.GetObjectKind().SetGroupVersionKind(d.kind)
	setFault(object, locate(raw, func(document []byte) bool {
		trial, err := d.scheme.New(d.kind)
		return err == nil && kjson.UnmarshalCaseSensitivePreserveInts(document, trial) == nil
	}))
	return made, nil
}
