// Replaces the live part of the page whenever the server sends it.
"use strict";
const live = document.getElementById("live");
const connection = document.getElementById("connection");
const source = new EventSource("/-/live");
source.onopen = () => { connection.textContent = "live"; connection.className = ""; };
source.onerror = () => { connection.textContent = "the server does not answer"; connection.className = "lost"; };
source.onmessage = (event) => { live.innerHTML = JSON.parse(event.data); };
