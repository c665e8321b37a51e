// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// unknown says that the review was not decided: something could not be found out just now, such as the
// rights of the writer by a replica that does not reach the API server.
func (a answer) unknown() bool {
	if a.status == nil {
		return false
	}
	if a.status.Code == http.StatusServiceUnavailable {
		return true
	}
	if a.status.Details == nil {
		return false
	}
	for _, cause := range a.status.Details.Causes {
		if cause.Type == fieldInternal {
			return true
		}
	}
	return false
}

// fieldInternal is the type of a cause that field.InternalError becomes.
const fieldInternal = "InternalError"

// sendElsewhere has the API server ask again, of whichever replica a new connection leads to. It does so
// at once, up to ten times and within the webhook's timeout, where an answer of 503 says after how many
// seconds (k8s.io/client-go, rest/with_retry.go); an answer to the review would be final.
func sendElsewhere(w http.ResponseWriter, message string) {
	wire.Refuse(http.StatusServiceUnavailable, "%s", message).Answer(w)
}
