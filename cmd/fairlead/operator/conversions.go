// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

// troubled is how long after a conversion has failed no objects are rewritten that may need one.
const troubled = time.Minute

// conversions remembers when one failed on this replica, and has the object named.
type conversions struct {
	failed atomic.Int64
	tell   func(events.Event) // nil: notices are dropped
}

// Failed is told of each that fails. It never blocks.
func (c *conversions) Failed(f conversion.Failure) {
	c.failed.Store(time.Now().UnixNano())
	if c.tell == nil || !ours(f.APIVersion, f.Kind) {
		return
	}
	c.tell(events.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name, UID: types.UID(f.UID),
		},
		Reason: "ConversionFailed", Action: "Convert",
		Note: fmt.Sprintf("This object cannot be converted to %s, so that every list at that version fails. `%s` names what to mend; so does the operator's log.",
			f.Desired, tolerantcache.Remedy),
	})
}

// healthy is nil where none has failed for a while.
func (c *conversions) healthy(context.Context) error {
	at := c.failed.Load()
	if since := time.Since(time.Unix(0, at)); at != 0 && since < troubled {
		return fmt.Errorf("a conversion failed %s ago: the log names the object", since.Round(time.Second))
	}
	return nil
}

// ours says whether a kind is one of the operator's: others may write what they like into a review.
func ours(apiVersion, kind string) bool {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return false
	}
	for _, known := range ownKinds() {
		if known.Group == version.Group && known.Kind == kind {
			return true
		}
	}
	return false
}
