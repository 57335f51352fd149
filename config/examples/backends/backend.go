// A Go backend that accepts only requests of the gateway: IDENTITY_KEYS=… PORT=3000 go run backend.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var keys = strings.Split(os.Getenv("IDENTITY_KEYS"), ",")

// isSigned reports whether the gateway sent the request within the last minute.
func isSigned(r *http.Request) bool {
	seconds, given := "", []string{}
	for _, part := range strings.Split(r.Header.Get("X-Login-Signature"), ",") {
		name, value, _ := strings.Cut(part, "=")
		if name == "t" && seconds == "" {
			seconds = value
		}
		if name == "v1" {
			given = append(given, value)
		}
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || age > time.Minute || age < -time.Minute {
		return false
	}
	// As it arrived, without the query: r.URL.Path is decoded.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	header := func(name string) string { return r.Header.Get("X-Login-" + name) }
	text := strings.Join([]string{seconds, header("Type"), header("Id"), header("Extra"), r.Method, path}, ".")
	for _, key := range keys {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		expected := hex.EncodeToString(mac.Sum(nil))
		for _, signature := range given {
			if hmac.Equal([]byte(signature), []byte(expected)) {
				return true
			}
		}
	}
	return false
}

func show(w http.ResponseWriter, r *http.Request) {
	if !isSigned(r) {
		http.Error(w, "this request did not come through the gateway", http.StatusUnauthorized)
		return
	}
	// On a path that needs no session, both are empty.
	client := map[string]string{"id": r.Header.Get("X-Login-Id"), "type": r.Header.Get("X-Login-Type")}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(client)
}

func main() {
	http.HandleFunc("/api/v1/c/", show)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
