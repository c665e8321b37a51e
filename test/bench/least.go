// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// The handlers of this file do as little as an API server accepts: what they take is the API server's.

// review has the fields of a ConversionReview or an AdmissionReview that a response needs.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    struct {
		UID               string            `json:"uid"`
		DesiredAPIVersion string            `json:"desiredAPIVersion"`
		Objects           []json.RawMessage `json:"objects"`
	} `json:"request"`
}

// respond writes a review whose response has these members beside the uid.
func respond(w http.ResponseWriter, r *http.Request, members func(*review) map[string]any) {
	var asked review
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := members(&asked)
	response["uid"] = asked.Request.UID
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(map[string]any{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": response})) // the API server sees what is missing
}

// allow is a webhook of either kind that allows everything.
func allow(w http.ResponseWriter, r *http.Request) {
	respond(w, r, func(*review) map[string]any { return map[string]any{"allowed": true} })
}

// echo converts objects by changing their apiVersion only.
func echo(w http.ResponseWriter, r *http.Request) {
	respond(w, r, func(asked *review) map[string]any {
		wanted := fmt.Appendf(nil, `"apiVersion":%q`, asked.Request.DesiredAPIVersion)
		converted := make([]json.RawMessage, len(asked.Request.Objects))
		for i, object := range asked.Request.Objects {
			for _, version := range []string{"v1", "v1alpha1"} {
				if was := fmt.Appendf(nil, `"apiVersion":"%s/%s"`, kind.Group, version); bytes.HasPrefix(object, append([]byte("{"), was...)) {
					object = append(append([]byte("{"), wanted...), object[1+len(was):]...)
					break
				}
			}
			converted[i] = object
		}
		return map[string]any{"convertedObjects": converted, "result": map[string]any{"status": "Success"}}
	})
}
